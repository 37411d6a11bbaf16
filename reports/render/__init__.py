"""What all pages share: the frame of a page, words, Markdown, HTML, pictures. It knows no page."""
