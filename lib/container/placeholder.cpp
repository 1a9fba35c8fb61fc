// container
