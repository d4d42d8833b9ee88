// What a start needs besides the bundles: wrangler.toml and the migrations as JSON. After this a machine without the
// tools needs only dist/.

import { loadProject } from "./project.ts";

await loadProject();
