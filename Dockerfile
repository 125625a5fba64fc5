# An image with the command and nothing else. CGO_ENABLED=0 go build makes the program: docs/install.md.
FROM scratch
COPY purekube LICENSE /
USER 65534:65534
ENTRYPOINT ["/purekube"]
