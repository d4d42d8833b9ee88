// The pages that the documents show, each as `docs/pictures/<name>-<theme>.png`.

export const THEMES = ["light", "dark"] as const;

interface Shown {
  readonly name: string;
  /** The page's address behind `#/`; `*` stands for the job whose story is shown. */
  readonly place: string;
  /** Taken at a phone's width; else at a desk's. */
  readonly isOnPhone?: true;
}

export const SHOWN: readonly Shown[] = [
  { name: "overview", place: "" },
  { name: "overview-phone", place: "", isOnPhone: true },
  { name: "jobs", place: "jobs" },
  { name: "job", place: "jobs/*" },
  { name: "batches", place: "batches" },
  { name: "fleet", place: "fleet" },
  { name: "models", place: "models" },
  { name: "explain", place: "explain?tags=gpu" },
];

/** A document must stay quick to open. */
export const PICTURE_MAX_BYTES = 200 * 1024;
