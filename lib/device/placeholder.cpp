// device
