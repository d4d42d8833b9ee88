// The text of `npm run <command> -- --help` for commands without their own help (start and worker have it).

export const USAGE = {
  "scripts/dev.ts": "npm run dev\n\nServes the working tree by wrangler dev, for working on the code.",
  "scripts/deploy.ts":
    "npm run deploy [-- --dry-run]\n\nBuilds, migrates D1, makes the secrets that are missing, deploys to Cloudflare.\n\n  --dry-run  everything of it that needs no account",
  "scripts/test.ts": "npm test [-- <file or flag of vitest> …]\n\nBuilds what tests use and runs them.",
  "scripts/check.ts": "npm run check\n\nWhat CI runs: format, lint, types, tests.",
  "scripts/simulate.ts":
    "npm run simulate [-- --minutes <n> | --seeds <n> --from <n> | --seed <n>]\n\nThe deterministic simulator; 200 runs without a flag, --seed replays one.",
  "scripts/mutants.ts": "npm run mutants [-- <words> …]\n\nPlants each known defect and says whether a test finds it.",
  "scripts/chaos.ts":
    "npm run chaos [-- --kills <n> --seed <n>]\n\nThe self-hosted server under load, killed at random; what was answered is judged.",
  "scripts/fixture.ts": "npm run fixture -- <version>\n\nRecords the data folder of a release for the upgrade tests.",
  "bench/main.ts":
    "npm run bench [-- --quick | --full] [--only <part,…>] [--catalog] [--soak-minutes <n>]\n\nMeasures, and prints a table and one JSON line.",
};
