import { defineUploadHandler } from "@trellis/fn/uploads";
import { photos } from "../../photos.ts";
import { setPhoto } from "../../queries/rooms.ts";

// runs once the bucket has the file, and after its size, type and owner were verified
export const handler = defineUploadHandler({ upload: photos })(
  async function savePhoto({ owner, key }) {
    await setPhoto({ roomId: owner, photo: key });
  },
);
