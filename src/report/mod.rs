//! What people and programs see of a run, and of mistakes in a file.
//!
//! Readers of events and diagnostics with no truth of their own: [`Plain`] (a line an event), [`Live`]
//! (the list redrawn in place), [`EventLines`] (JSON lines), [`diagnostics`], [`graph`]. What is shown is a pure
//! function of state, time and [`Look`]; streams are handed in.

pub mod diagnostics;
pub mod escape;
mod events;
pub mod github;
pub mod graph;
mod heard;
pub mod list;
pub mod live;
pub mod look;
mod plain;
pub mod sarif;
pub mod schema;
mod snippet;
pub mod totals;
pub mod value;
mod verbose;
mod window;

pub use events::EventLines;
pub use live::Live;
pub use look::Look;
pub use plain::{Plain, Voice};
pub use totals::Totals;
