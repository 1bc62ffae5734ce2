//! Tests that need several of the rules.

mod oracle;
