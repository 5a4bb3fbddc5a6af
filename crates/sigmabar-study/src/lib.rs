//! Studies: what is searched, which trials were asked and told, and the file that keeps them.
