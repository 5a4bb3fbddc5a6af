//! What the `sigmabar` command and its pages share: tables that are read, models that are fitted, pictures that are drawn, reports that are laid out, and plates.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod advice;
pub mod data;
pub mod kernels;
pub mod model;
pub mod plate;
pub mod plot;
pub mod quantity;
pub mod report;
pub mod setting;
pub mod sheet;
