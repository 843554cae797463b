// Placeholder for the API function: replace it by the bundle of your handlers.
export async function handler(event) {
  return {
    statusCode: 200,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ method: event.httpMethod, path: event.path }),
  };
}
