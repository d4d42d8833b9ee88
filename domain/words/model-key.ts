// Two names of one model: a local runtime lists `llama3.2` as `llama3.2:latest`.

const DEFAULT_TAG = ":latest";

/** The same for all names of one model. */
export const modelKeyOf = (model: string): string =>
  model.endsWith(DEFAULT_TAG) ? model.slice(0, -DEFAULT_TAG.length) : model;
