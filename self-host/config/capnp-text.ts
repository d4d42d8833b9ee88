// Cap'n Proto's text notation, as far as a workerd config needs it.

import path from "node:path";

/** A Cap'n Proto expression that is used unchanged, such as a nested record. */
export interface Expression {
  text: string;
}

export type Field = string | boolean | Expression | readonly Expression[] | readonly string[] | undefined;

const quote = (text: string): string => {
  const escaped = text.replace(/[\\"]/g, "\\$&");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what has to be escaped
  return `"${escaped.replace(/[\u0000-\u001f\u007f]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`)}"`;
};

const render = (field: Exclude<Field, undefined>): string => {
  if (typeof field === "string") return quote(field);
  if (typeof field === "boolean") return String(field);
  if ("text" in field) return field.text;
  return `[${field.map(render).join(", ")}]`;
};

/** `(name = "value", …)`; undefined fields are left out. */
export const record = (fields: Record<string, Field>): Expression => {
  const present = Object.entries(fields).filter((entry): entry is [string, Exclude<Field, undefined>] => {
    return entry[1] !== undefined;
  });
  return { text: `(${present.map(([name, field]) => `${name} = ${render(field)}`).join(", ")})` };
};

/**
 * The text of a file, read together with the config, from whose folder its path leads: with slashes everywhere, and by
 * the root, where the drives of Windows are.
 */
export const embed = (folder: string, file: string, { sep }: { sep: string } = path): Expression => {
  const steps = (place: string): string[] => place.split(sep).filter((step) => step !== "");
  return { text: `embed ${quote([...steps(folder).map(() => ".."), ...steps(file)].join("/"))}` };
};

export const configText = (
  services: readonly Expression[],
  sockets: readonly Expression[],
  v8Flags: readonly string[] = [],
): string => {
  const lines = (items: readonly Expression[]) => items.map((item) => `    ${item.text},\n`).join("");
  return [
    "# Written at every start from wrangler.toml; changes made here are lost.",
    'using Workerd = import "/workerd/workerd.capnp";',
    "const config :Workerd.Config = (",
    `  services = [\n${lines(services)}  ],`,
    `  sockets = [\n${lines(sockets)}  ],`,
    `  v8Flags = [${v8Flags.map((flag) => quote(flag)).join(", ")}],`,
    ");",
    "",
  ].join("\n");
};
