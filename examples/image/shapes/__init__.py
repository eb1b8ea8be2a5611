"""Which shape is in a picture, by a convolutional network of torch."""
