/** Subfolders of the functions folder; each is named after the trigger of its functions. */
export const FUNCTION_KINDS = [
  "api",
  "queue",
  "topic",
  "event",
  "schedule",
  "storage",
  "stream",
  "table-stream",
  "kafka",
  "websocket",
  "authorizer",
  "standalone",
] as const;

/** The trigger of a function. */
export type FunctionKind = typeof FUNCTION_KINDS[number];
