// Functions without a body, which a test links to those of the scheduler, are allowed in a package with assembly.
