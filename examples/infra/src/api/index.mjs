// Stands for the built API function; put the bundle of your handlers here.
export async function handler(event) {
  return {
    statusCode: 200,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ method: event.httpMethod, path: event.path }),
  };
}
