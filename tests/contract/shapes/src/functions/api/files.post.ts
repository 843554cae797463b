import { createMultipartParser, defineApiHandler, reply } from "@trellis/fn/validation";
import { Upload, Uploaded } from "../../schemas.ts";

export const handler = defineApiHandler({
  schema: Upload,
  bodyParser: createMultipartParser(),
  responses: { 201: Uploaded },
})(async function uploadFile({ body: { file, note, tags } }) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  return reply(201, { name: file.name, bytes: bytes.length, sum, note, tags });
});
