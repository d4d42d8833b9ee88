// What `npm run deploy` says of wrangler.toml's [vars] before it touches anything.

import { expect, it } from "vitest";
import { loadProject } from "../../self-host/build/project.ts";
import { requireVars } from "../../self-host/settings/deployed-vars.ts";

it("the vars that wrangler.toml has are taken", async () => {
  expect(await requireVars((await loadProject()).vars)).toEqual([]);
});

it.each([
  // Compared with the text "0", the number is another value: the sync would go on.
  [{ SERVICE_CATALOG_SYNC: 0 }, /^SERVICE_CATALOG_SYNC in wrangler.toml is no text/],
  [{ SERVICE_LOG_REQUESTS: true }, /^SERVICE_LOG_REQUESTS in wrangler.toml is no text/],
  [{ SERVICE_SIGN_IN: { roles: [] } }, /^SERVICE_SIGN_IN in wrangler.toml is no text/],
  [{ SERVICE_HISTORY_KEEP_DAYS: "ninety" }, /^SERVICE_HISTORY_KEEP_DAYS is "ninety": use a whole number of days/],
  [{ SERVICE_PUBLIC_URL: "jobs.example.com" }, /^SERVICE_PUBLIC_URL is "jobs.example.com": use an address/],
  [{ SERVICE_EDGE_TENANTS: "Acme" }, /^SERVICE_EDGE_TENANTS has "Acme"/],
  [{ SERVICE_SIGN_IN: "sign-in.yaml" }, /^SERVICE_SIGN_IN is invalid/],
  [{ SERVICE_SIGN_IN: "{" }, /^SERVICE_SIGN_IN is no valid YAML/],
])("%o ends the deploy, which says what to change", async (vars, says) => {
  await expect(requireVars(vars)).rejects.toThrow(says);
});

it("a name that is nearly a setting's is said, and deployed", async () => {
  expect(await requireVars({ SERVICE_TENANT_MAXGB: "5", OUR_OWN: "1" })).toEqual([
    "SERVICE_TENANT_MAXGB is no setting and changes nothing: did you mean SERVICE_TENANT_MAX_GB?",
  ]);
});
