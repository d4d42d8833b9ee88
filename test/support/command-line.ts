// The command line as its users run it: the package, which every test run builds first. It starts with a third of the
// CPU that the sources take, whose types Node removes at each start.

import path from "node:path";
import { PACKAGE_DIRECTORY } from "../../self-host/build/places.ts";

/** What Node runs as `signalbox`. */
export const SIGNALBOX = path.resolve(import.meta.dirname, "../..", PACKAGE_DIRECTORY, "cli/main.js");
