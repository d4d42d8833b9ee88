// Headers as OpenTelemetry writes them into a variable: `name=value,…`, the values percent-encoded.

/** A part without `=` is left out. @throws URIError for another use of `%` */
export const headerPairs = (text: string): [name: string, value: string][] =>
  text
    .split(",")
    .map((pair) => pair.trim())
    .filter((pair) => pair.includes("="))
    .map((pair) => [pair.slice(0, pair.indexOf("=")).trim(), decodeURIComponent(pair.slice(pair.indexOf("=") + 1))]);
