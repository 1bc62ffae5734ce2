//! Faults that tests ask for: that the terminal comes back and records survive a panic is shown
//! by a panic. Nothing of it is in a release build.

/// Panics when a test has asked for it here.
#[inline]
pub fn point(name: &str) {
    #[cfg(debug_assertions)]
    if std::env::var("INVAR_TEST_FAULT").is_ok_and(|wanted| wanted == name) {
        #[expect(clippy::panic, reason = "that is what was asked for")]
        {
            panic!("a test asked for a fault in {name}");
        }
    }
    let _ = name;
}
