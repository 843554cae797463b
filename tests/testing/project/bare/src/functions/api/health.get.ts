export const handler = () => Promise.resolve({ statusCode: 204, body: "", isBase64Encoded: false });
