#ifndef TEMBLOR_CUDA_H
#define TEMBLOR_CUDA_H
#include <stdint.h>

/* Layout of the fields, the box of nodes to update and the operator. */
typedef struct {
  /* Nodes along (x, y, z). */
  int32_t nodes[3];
  /* First node of the box. */
  int32_t begin[3];
  /* One past the last node of the box. */
  int32_t end[3];
  /* Elements between neighbours along x. */
  int64_t stride_x;
  /* Elements between neighbours along y. */
  int64_t stride_y;
  /* Weight of the centre, all axes, 1/m^2. */
  float centre;
  /* Weights of the second derivative along (x, y, z), 1/m^2. */
  float second[3][9];
  /* Weights of the first derivative along (x, y, z), 1/m. */
  float first[3][9];
} TemblorStep;

/* Disjoint boxes that one launch covers; a block takes a tile of (y, z) and marches along x. */
typedef struct {
  /* Number of boxes. */
  int32_t count;
  /* First node. */
  int32_t begin[6][3];
  /* One past the last node. */
  int32_t end[6][3];
  /* Tiles along z. */
  int32_t tiles_z[6];
  /* Tiles along y. */
  int32_t tiles_y[6];
  /* Axis normal to the slab. */
  int32_t axis[6];
  /* Threads of a tile along z; its rows are what 256 threads allow. */
  int32_t lanes[6];
  /* Planes that one block marches. */
  int32_t planes[6];
  /* First block of each box, and the number of blocks. */
  int32_t first_block[7];
  /* First element of each box in compact storage (node by node, z fastest). */
  int64_t first_element[6];
} TemblorBoxes;

/* Disjoint boxes for the kernels that keep a tile of the layers in shared memory: a block takes a tile
   of rows and of groups of four nodes along z, and marches along x or y. */
typedef struct {
  /* Number of boxes. */
  int32_t count;
  /* Faces beyond which the field is zero: bit 2a below node 0 along axis a, bit 2a + 1 above. */
  int32_t open;
  /* First node. */
  int32_t begin[6][3];
  /* One past the last node. */
  int32_t end[6][3];
  /* Axis of the march, 0 or 1; rows follow each other along the other. */
  int32_t march[6];
  /* Rows of a tile. */
  int32_t rows[6];
  /* Groups of four nodes of a tile along z. */
  int32_t lanes[6];
  /* Tiles along z. */
  int32_t tiles_z[6];
  /* Tiles along the rows. */
  int32_t tiles_row[6];
  /* Planes that one block marches. */
  int32_t planes[6];
  /* First block of each box, and the number of blocks. */
  int32_t first_block[7];
  /* First element of each box in compact storage (node by node, z fastest, rows of multiples of eight). */
  int64_t first_element[6];
} TemblorLayerTiles;

/* Profiles and memory variables of the C-PML along (x, y, z). */
typedef struct {
  /* Decay per step, one value per node. */
  const float* decay[3];
  /* Gain, one value per node. */
  const float* gain[3];
  /* Slope of the gain, 1/m, one value per node. */
  const float* slope[3];
  /* q of the step before. */
  const float* q[3];
  /* q of this step. */
  float* q_next[3];
  /* r, updated in place. */
  float* r[3];
  /* Damped nodes at the low end. */
  int32_t low[3];
  /* Damped nodes at the high end. */
  int32_t high[3];
  /* Nodes without storage between the low and the high end. */
  int32_t gap[3];
  /* Elements between neighbours along x in q and r. */
  int64_t stride_x[3];
  /* Elements between neighbours along y in q and r. */
  int64_t stride_y[3];
} TemblorCpml;

/* Damping and auxiliary field of Minimod's layer. */
typedef struct {
  /* Damping along (x, y, z), one value per node and one beyond either end. */
  const float* eta[3];
  /* Auxiliary field, compact storage of the boxes. */
  float* phi;
  /* 1/(4 h^2) along (x, y, z), zero on an inactive axis. */
  float quarter[3];
} TemblorMinimod;

/* Halo nodes along one axis and the nodes that they mirror. */
typedef struct {
  /* 0, 1, 2 for x, y, z. */
  int32_t axis;
  /* Number of halo nodes. */
  int32_t count;
  /* Halo node. */
  int32_t target[16];
  /* Node inside. */
  int32_t source[16];
  /* Its sign. */
  float sign[16];
} TemblorImages;

/* A strided box of nodes between a field and a compact array, some of its rows. */
typedef struct {
  /* First node along (x, y, z). */
  int32_t start[3];
  /* Nodes taken along (x, y, z). */
  int32_t shape[3];
  /* Stride between nodes along (x, y, z). */
  int32_t stride[3];
  /* First row, counted along y then x. */
  int64_t first_row;
  /* Rows. */
  int64_t rows;
  /* Elements between neighbours along x. */
  int64_t stride_x;
  /* Elements between neighbours along y. */
  int64_t stride_y;
  /* Nodes that stay zero (on a free surface) along (x, y, z): low and high, or -1. */
  int32_t zero[3][2];
} TemblorRegion;

/* Which tile and planes a block takes. Tiles that fill all multiprocessors march far; what remains is
   cut into shorter chunks. */
typedef struct {
  /* Tiles along z. */
  int32_t tiles_z;
  /* Tiles that march `planes` at a time: the first ones. */
  int32_t full_tiles;
  /* Blocks of those. */
  int32_t full_blocks;
  /* Planes of such a block. */
  int32_t planes;
  /* Tiles that are left. */
  int32_t rest_tiles;
  /* Planes of a block of those. */
  int32_t rest_planes;
} TemblorTiles;

/* Two fused steps of the whole grid: the halo, and the sources tile by tile. */
typedef struct {
  /* Halo along (x, y, z). */
  int32_t halo[3];
  /* Source nodes in all tiles; 0 leaves the tables below unread. */
  int32_t sources;
  /* First entry of each tile, and their number; entries of a tile by rising plane. */
  const int32_t* entry_first;
  /* Plane (x) of each entry. */
  const int32_t* entry_plane;
  /* Place of each entry in the tile with its rim: 72 y + z. */
  const int32_t* entry_place;
  /* Source node of each entry. */
  const int32_t* entry_node;
  /* First term of each source node, and their number. */
  const int32_t* term_first;
  /* Source of each term. */
  const int32_t* term_source;
  /* Weight of each term. */
  const float* term_weight;
  /* Amplitudes of the first of the two steps. */
  const float* amplitudes;
} TemblorFused;

/* A Laplacian by digits (Ozaki): which tile a block takes, the operator's digits, and the bricks of 4 x 8 x
   16 nodes (x, y, z) whose largest values are carried from step to step. */
typedef struct {
  /* Tiles along z. */
  int32_t tiles_z;
  /* Tiles of (y, z). */
  int32_t tiles;
  /* Planes of a block, a multiple of four. */
  int32_t planes;
  /* Bricks along (x, y, z): those of the box and one beyond either end, as thick as the operator's
     radius. */
  int32_t bricks[3];
  /* Nodes beyond the box that taps reach. */
  int32_t radius;
  /* 1 if the spacings along y and z are equal. */
  int32_t joint;
  /* By digit of the operator: for outputs 0 to 3 of four nodes, the taps on the four nodes before
     them, on themselves and on the four behind, a byte each. */
  int32_t taps[3][12];
  /* Along (x, y, z): units of the least kept diagonal and of every second one from it, 1/m^2. */
  float unit[3][3];
} TemblorOzaki;

/* A Laplacian by any number of digits of any operator, by the plain kernel, which reads the bricks, the radius
   and whether y and z are joined from what tuned kernels take. */
typedef struct {
  /* Digits of a value of the wavefield, 1 to 3; at most so many if `adaptive`. */
  int32_t digits;
  /* Diagonals of products that are dropped where all digits are taken, least first. */
  int32_t trim;
  /* Bits below a cell's root mean square that its digits must reach; 0: all cells take all digits. */
  int32_t adaptive;
  /* By digit of the weights, least first and zero where there is none: the centre and the weights at
     distance 1 to 8. */
  int32_t taps[3][9];
  /* Along (x, y, z): unit of the product of the least digits, 1/m^2. */
  float unit[3];
} TemblorOzakiPlain;

/* A Laplacian by BF16 limbs. */
typedef struct {
  /* Tiles along z. */
  int32_t tiles_z;
  /* Nodes beyond the box that taps reach. */
  int32_t radius;
  /* Diagonals of products that are kept. */
  int32_t kept;
  /* Bits of the limbs of the weights over the spacing squared along (x, y, z): of each limb the centre
     and the weights at distance 1 to 4. */
  int32_t taps[3][15];
} TemblorLimbs;

/* A Laplacian by any number of BF16 limbs of any operator, by the plain kernel. */
typedef struct {
  /* Limbs of a value of the wavefield, 1 to 3. */
  int32_t digits;
  /* Nodes beyond the box that taps reach. */
  int32_t radius;
  /* Diagonals of products that are kept. */
  int32_t kept;
  /* Bits of the limbs of the weights over the spacing squared along (x, y, z): of each limb, zero where there
     is none, the centre and the weights at distance 1 to 8. */
  int32_t taps[3][27];
} TemblorLimbsPlain;

/* Wavefields in reduced storage: node 0 of each array. Exponents: one byte per 32 nodes along z, at the
   element of its first node over 32. */
typedef struct {
  /* p^n. */
  const void* p;
  /* Its exponents, or 0. */
  const void* p_exponents;
  /* p^(n-1), or the increment p^n - p^(n-1), which is updated in place. */
  void* before;
  /* Its exponents, or 0. */
  void* before_exponents;
  /* p^(n+1); may be `before`. */
  void* next;
  /* Its exponents, or 0. */
  void* next_exponents;
  /* dt^2 c^2 as floats, or codes k of two bytes: c dt = least + k slope. */
  const void* speed;
  /* c dt of code 0, m. */
  float least;
  /* c dt per code, m; 0 if the wave speed is stored as floats. */
  float slope;
  /* Whether `before` is an increment. */
  int32_t increment;
  /* Taps on either side. */
  int32_t radius;
  /* Where the noise of rounding begins: a hash of the step. */
  int32_t seed;
  /* 2^23 less the code of c = 0: a code's place below 2^23, less this, is c dt over slope. */
  float code_offset;
  /* One past the last element of a row that is 0 beyond the grid, counted from node 0. */
  int32_t row_end;
  /* Node that mirrors into the r-th node beyond an end, per axis: r = 0..7 below, 8..15 above; -1 where
     the field is zero. */
  int32_t image[3][16];
  /* Its sign. */
  float sign[3][16];
} TemblorStored;

#endif
