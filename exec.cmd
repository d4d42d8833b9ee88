@rem For package.json: npm's shell on Windows has no exec. It ends with what it runs all the same.
@%*
