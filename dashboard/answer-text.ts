// The text of a model's answer, in any API's format; null if there is none.

type Shape = Record<string, unknown>;

const isShape = (value: unknown): value is Shape => typeof value === "object" && value !== null;

const textOfParts = (parts: unknown): string | null => {
  if (typeof parts === "string") return parts;
  if (!Array.isArray(parts)) return null;
  const texts = parts
    .filter(isShape)
    .map(({ text, content }) => (typeof text === "string" ? text : textOfParts(content)));
  const found = texts.filter((text) => text !== null);
  return found.length === 0 ? null : found.join("");
};

/** OpenAI's choices, Anthropic's content, Responses' output, and the plain `{text}` of a worker. */
export const answerText = (value: unknown): string | null => {
  if (typeof value === "string") return value;
  if (!isShape(value)) return null;
  if (typeof value.text === "string") return value.text;
  const [choice] = Array.isArray(value.choices) ? value.choices.filter(isShape) : [];
  if (choice !== undefined) {
    const said = isShape(choice.message) ? choice.message : isShape(choice.delta) ? choice.delta : null;
    return said === null ? textOfParts(choice.text) : textOfParts(said.content);
  }
  return textOfParts(value.content ?? value.output);
};

/** The text that one event of a stream adds. */
export const deltaText = (data: unknown): string => {
  if (typeof data === "string") return "";
  if (!isShape(data)) return "";
  if (typeof data.delta === "string") return data.type === "response.output_text.delta" ? data.delta : "";
  if (isShape(data.delta)) return typeof data.delta.text === "string" ? data.delta.text : "";
  return data.type === undefined ? (answerText(data) ?? "") : "";
};
