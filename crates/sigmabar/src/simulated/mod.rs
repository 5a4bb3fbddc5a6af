//! What stands for the real world in demonstrations and experiments: well-known functions, and noise from a seed.

mod classic;
mod noise;

pub use classic::Classic;
pub use noise::SimulatedNoise;
