// JSON that a person types.

/** What is wrong with a text as JSON, or null; an empty one stands for null. */
export function faultOfJson(text) {
  try {
    readJson(text);
    return null;
  } catch (error) {
    return `This is no JSON yet: ${error.message.replace(/ in JSON| \(line .*\)$/g, "")}`;
  }
}

export const readJson = (text) => (text.trim() ? JSON.parse(text) : null);

/** Write a value to be edited; null is an empty text. */
export const writeJson = (value) => (value === null || value === undefined ? "" : JSON.stringify(value, null, 2));
