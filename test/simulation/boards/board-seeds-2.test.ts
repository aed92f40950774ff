import { testBoardSeeds } from './board-seeds.ts';

testBoardSeeds(1);
