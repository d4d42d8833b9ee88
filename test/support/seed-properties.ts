// Properties draw the same cases in every check, so that it fails only where the code is at fault. PROPERTY_SEED chooses
// others.

import fc from "fast-check";

fc.configureGlobal({ seed: Number(process.env.PROPERTY_SEED ?? 20261121) });
