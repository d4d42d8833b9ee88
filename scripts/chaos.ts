// `npm run chaos -- --kills 200`: the self-hosted server under load, killed at random, with cut connections and stopped
// workers; afterwards the answers are checked for consistency. `--batch 20000 --kills 20` does so with one batch.
// `--seed N` repeats a run's choices.

import "../test/chaos/main.ts";
