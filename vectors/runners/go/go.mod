module vectors

go 1.19
