// Functions without a body, which a test links to those of descheduler, are allowed in a package with assembly.
