// Fields of a request that must mean at its runtime what they mean here. A runtime that is written in Go, such as Ollama,
// reads a JSON name in any case, and takes the last of those that are one name to it.

/** The other spelling of one of them that a body has. */
export const respelledIn = (body: object): string | undefined =>
  Object.keys(body).find((name) => /^(model|stream)$/iu.test(name) && name !== "model" && name !== "stream");

export const RESPELLED = "must be written in small letters";
