// scan
