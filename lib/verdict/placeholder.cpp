// verdict
