"""Protobuf's wire format by hand: messages that no generated class would make."""


def varint(number: int) -> bytes:
    """Return a number, 0 or more."""
    return bytes((number & 0x7F | 0x80,)) + varint(number >> 7) if number > 0x7F else bytes((number,))


def field(number: int, content: bytes) -> bytes:
    """Return a field of bytes, of text, or of a message."""
    return varint(number << 3 | 2) + varint(len(content)) + content
