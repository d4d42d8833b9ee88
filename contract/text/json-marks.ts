/**
 * The characters between the texts and numbers of JSON, as its bytes and its UTF-16 units have them: a quote and a
 * backslash, a comma and a colon, an opening and a closing bracket, the same for braces.
 */
export const JSON_MARKS = [0x22, 0x5c, 0x2c, 0x3a, 0x5b, 0x5d, 0x7b, 0x7d] as const;
