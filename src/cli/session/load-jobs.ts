import { readdir } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Job } from '../../engine/job.ts';
import { SluiceError } from '../../errors.ts';

/** The jobs declared in `folder`, one per file; the file name is the resource. */
export async function loadJobs(folder: URL): Promise<Map<string, Job>> {
  const path = fileURLToPath(folder);
  const files = (await readdir(path)).filter(file => /^[a-z][a-z0-9_]*\.(ts|js)$/.test(file)).sort();
  const jobs = new Map<string, Job>();
  for (const file of files) {
    const loaded = (await import(pathToFileURL(`${path}/${file}`).href)) as { default?: Partial<Job> };
    const job = loaded.default;
    if (!job?.path || !job.record || !job.slicings) {
      throw new SluiceError('failed', `${path}/${file} does not export a job as its default.`, {
        next: 'Add: export default defineJob({ .. }).',
      });
    }
    jobs.set(file.slice(0, -3), job as Job);
  }
  return jobs;
}
