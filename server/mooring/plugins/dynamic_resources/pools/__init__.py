"""What there is: the devices that drivers announce, where they can be reached, and what is taken of them."""
