// The text of `npm run <command> -- --help` for commands without their own help (start and worker have it).

export const USAGE = {
  "scripts/dev.ts": "npm run dev\n\nServes the working tree with wrangler dev, for development.",
  "scripts/deploy.ts":
    "npm run deploy [-- --dry-run --databases <count>]\n\nBuilds, migrates D1, creates missing secrets, deploys to Cloudflare.\n\n  --dry-run            runs all steps that need no account\n  --databases <count>  so many D1 databases hold the history, at least those that there are",
  "scripts/test.ts": "npm test [-- <file or flag of vitest> …]\n\nBuilds what tests need and runs them.",
  "scripts/check.ts": "npm run check\n\nWhat CI runs: format, lint, types, tests.",
  "scripts/format.ts": "npm run format\n\nFormats and lints, and mends what can be mended.",
  "scripts/types.ts": "npm run types\n\nChecks the types of every TypeScript project.",
  "scripts/migrations.ts":
    "npm run migrations [-- --name <name>]\n\nWrites the migration of D1 that a change of migrations/schema.ts needs.",
  "scripts/providers.ts":
    "npm run providers\n\nChecks the files of providers/catalog and writes them into the bundle. Run it after editing one.",
  "scripts/prices.ts":
    "npm run prices\n\nWrites the price table from the installed price package. Run it after updating that package.",
  "scripts/simulate.ts":
    "npm run simulate [-- --minutes <n> | --seeds <n> --from <n> | --seed <n>]\n\nRuns the deterministic simulator: 200 runs by default; --seed replays one run.",
  "scripts/mutants.ts":
    "npm run mutants [-- <words> …]\n\nPlants each known defect, or those whose name has these words, and reports whether a test catches it.",
  "scripts/chaos.ts":
    "npm run chaos [-- --kills <n> --seed <n> --batch <lines>]\n\nRuns the self-hosted server under load, kills it at random, and checks the recorded answers.",
  "scripts/fixture.ts": "npm run fixture -- <version>\n\nRecords a release's data folder for the upgrade tests.",
  "scripts/pictures.ts":
    "npm run pictures [-- --minutes <n>]\n\nTakes the documents' pictures of the dashboard, from a server that it starts and fills. Needs Chromium.",
  "bench/main.ts":
    "npm run bench [-- --quick | --full] [--warm <seconds>] [--only <part,…>] [--soak-minutes <n>]\n\nRuns the benchmarks; prints a table and one JSON line.",
};
