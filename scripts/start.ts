// `npm start`, as setup.mjs runs it: bundled, because Node takes a second and 50 MB for the compiler of TypeScript and
// what it compiles. What V8 made of the bundle is kept beside it for the next start.

import { enableCompileCache } from "node:module";
import path from "node:path";
import { SERVER_DIRECTORY } from "../self-host/build/places.ts";
import { ROOT } from "../self-host/run-command.ts";

// A folder that is not writable is no failure: the next start takes longer.
enableCompileCache(path.join(ROOT, SERVER_DIRECTORY, "compiled"));
await import("../self-host/main.ts");
