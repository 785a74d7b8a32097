import { recipeFor } from '../../service/query/cookbook.ts';

/** Business questions that the demo answers. */
export const QUERIES = [
  'Which customers owe us most?',
  'What were income and expenses in each of the last six months?',
  'Which invoice lines brought in most in the last year?',
].map(recipeFor);
