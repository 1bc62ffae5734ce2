//! Floor 5: the demo. Plays `assets/demo.toml` against a throw-away store and a real temporary
//! project, through a real engine and through real hook processes.

mod player;
mod scenario;

pub use player::{Player, Report};
pub use scenario::{Scenario, Stage};

use std::time::Duration;

use crate::engine::{Config, EngineError, host::Host, writer::Engine};

/// How long a step stays before the next one, for eyes.
pub const PACE: Duration = Duration::from_millis(2200);

/// Plays the whole demo without a screen; each line is handed to `print` when it happens.
///
/// # Errors
/// The temporary folder, the engine or a hook process failed.
pub async fn plain(stage: &Stage, mut print: impl FnMut(&Report)) -> Result<(), EngineError> {
    let engine = Engine::open(&stage.locations, &Config::default())?;
    let host = Host::start(engine)?;
    let mut player = Player::new(stage, host.handle());
    let result = player.play(Duration::ZERO, &mut print).await;
    tokio::task::spawn_blocking(move || drop(host))
        .await
        .map_err(|e| EngineError::failed(format!("the demo's engine failed: {e}")))?;
    result
}
