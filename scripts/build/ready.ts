// What a start asks for beside the bundles: wrangler.toml and the migrations as JSON. After it dist/ is all that a machine
// without the tools needs.

import { loadProject } from "./project.ts";

await loadProject();
