"""What bytes are that are not text, in words. Used by the tools that show files and pages."""

from __future__ import annotations

#: where a NUL makes a file binary
SNIFFED_BYTES = 8_192

_IMAGES = {
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"GIF87a": "GIF",
    b"GIF89a": "GIF",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
}


def not_text(start: bytes) -> str | None:
    """What content is that begins so: "an image (PNG)", "a binary file"; None for text."""
    for magic, kind in _IMAGES.items():
        if start.startswith(magic):
            return f"an image ({kind})"
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "an image (WEBP)"
    return "a binary file" if b"\0" in start[:SNIFFED_BYTES] else None
