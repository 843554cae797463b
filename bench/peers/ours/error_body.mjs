/** The form in which every peer answers an invalid body. */
export function errorBody({ errors = {} }) {
  const issues = [];
  for (const path in errors) for (const message of errors[path]) issues.push({ path, message });
  return { error: "validation_error", message: "Request body is invalid", issues };
}
