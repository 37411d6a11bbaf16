"""Writers: each turns any document into the text of one format."""
