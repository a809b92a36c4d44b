//! Walks a protocol buffers message as it arrives and delivers the values of wanted fields.
