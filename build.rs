//! How `invar` is linked.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The hook is started for every action of an agent. At a fixed address the loader has nothing
    // to relocate, which is a tenth of the whole process; docs/performance.md has the figures.
    let target = |part: &str| var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    let dynamic = !target("FEATURE").split(',').any(|f| f == "crt-static");
    if target("OS") == "linux" && target("ENV") == "gnu" && dynamic {
        println!("cargo::rustc-link-arg-bin=invar=-no-pie");
    }
}
