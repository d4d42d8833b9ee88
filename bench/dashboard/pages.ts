// The pages that are measured, each by its address behind `#/`.

/** What is looked at on the pages that show one thing. */
export interface Shown {
  readonly done: string;
  readonly waiting: string;
  readonly worker: string;
  readonly batch: string;
  readonly schedule: string;
  readonly subscription: string;
}

export const pagesOf = (shown: Shown): Readonly<Record<string, string>> => ({
  Overview: "",
  Jobs: "jobs",
  "Jobs, failed": "jobs?status=failed",
  "Jobs, by words": "jobs?q=minutes",
  "Jobs, page 100": "jobs?offset=4950",
  "Job, done": `jobs/${shown.done}`,
  "Job, waiting": `jobs/${shown.waiting}`,
  "New job": "jobs/new",
  Batches: "batches",
  Batch: `batches/${shown.batch}`,
  Fleet: "fleet",
  "Fleet by tag": "fleet?group=tag",
  Worker: `fleet/${shown.worker}`,
  "Add a worker": "fleet/~add",
  Models: "models",
  Playground: "playground",
  Explain: "explain?tags=nobody-1",
  Schedules: "schedules",
  Schedule: `schedules/${shown.schedule}`,
  "Edit schedule": `schedules/${shown.schedule}/edit`,
  "New schedule": "schedules/~new",
  Catalog: "catalog",
  Subscription: `catalog/${shown.subscription}`,
  Cost: "cost?period=month",
  Config: "settings",
  Keys: "settings/keys",
  People: "settings/people",
  "Sign-in": "settings/sign-in",
  Webhooks: "settings/webhooks",
  Audit: "settings/audit",
  "Sign in a program": "grant-key?port=4711&name=laptop&challenge=c&state=s",
});
