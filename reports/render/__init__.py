"""What all pages share: words, charts, the frame."""
